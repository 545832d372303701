import pytest

from metamixup.data.label_table import Row, is_table, read_table, read_text
from metamixup.errors import DataError


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_whatever_a_spreadsheet_writes_is_read(tmp_path, separator, encoding):
    lines = [["File", ' "label"', "Chosen"], ['"a, b; c.png"', "cat", "random"], ["'-d.png", "d\xf6g", ""]]
    text = "\r\n".join(separator.join(cells).replace(' "', '"') for cells in lines)
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    table = read_table(tmp_path / "a.csv")
    assert table.columns == ["file", "label", "chosen"]
    assert table.rows == [Row(2, "a, b; c.png", "cat", "random"), Row(3, "-d.png", "d\xf6g", "")]


def test_lines_are_counted_as_an_editor_does(tmp_path):
    (tmp_path / "a.csv").write_text("\nfile,label\n\na,cat\n,\nb,dog\n")
    assert [row.line for row in read_table(tmp_path / "a.csv").rows] == [4, 6]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "needs the columns file and label"),
        (b"photo;what\n", "needs the columns file and label"),
        (b"file,label\n", "names no image below its first line"),
        (b"file,label\n\na\n", "line 3: has 1 columns, the first line has 2"),
        (b'file,label\na,"' + b"x" * 200_000, "line 2: cannot be read as a table"),
        ("file,label\n".encode("utf-16"), r"is not UTF-8 text; save it as UTF-8 \(in a spreadsheet: 'CSV UTF-8'"),
    ],
)
def test_what_is_no_table_is_told(tmp_path, content, told):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError, match=told):
        read_table(tmp_path / "a.csv")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.csv: cannot be read"):
        read_text(tmp_path / "none.csv")


def test_tables_are_known_in_any_case(tmp_path):
    assert is_table(tmp_path / "a.CSV")
    assert not is_table(tmp_path / "a.tsv")
