import csv
import io

from metamixup.tables.text_table import TextTable, as_csv, as_html, as_latex, as_markdown, bold, code, harmless

TABLE = TextTable(
    ("method", "error %", "difference"),
    [
        [("MixUp (", code("mixup"), ")"), bold("1.50 ± 0.10"), "-0.50 [-1.00, +0.25]"],
        ["<b>50 % & |more|_</b>", "2.00", "=1+1"],
    ],
    faint=frozenset({1}),
)


def test_markdown():
    assert as_markdown(TABLE) == (
        "| method | error % | difference |\n"
        "| --- | ---: | ---: |\n"
        "| MixUp (`mixup`) | **1.50 ± 0.10** | -0.50 [-1.00, +0.25] |\n"
        "| <b>50 % & \\|more\\|_</b> | 2.00 | =1+1 |\n"
    )
    assert as_markdown(TextTable(("a",), [])) == ""


def test_html_escapes_and_marks_controls():
    text = as_html(TABLE)
    assert '<th scope="row">MixUp (<code>mixup</code>)</th><td><b>1.50 ± 0.10</b></td>' in text
    assert '<tr class="control"><th scope="row">&lt;b&gt;50 % &amp; |more|_&lt;/b&gt;</th>' in text


def test_csv_is_read_back_and_runs_no_formula():
    rows = list(csv.reader(io.StringIO(as_csv(TABLE))))
    assert rows[1] == ["MixUp (mixup)", "1.50 ± 0.10", "-0.50 [-1.00, +0.25]"]
    assert rows[2][2] == "'=1+1"
    assert [harmless(text) for text in ("-1.5", "@x", "-cmd|x", "")] == ["-1.5", "'@x", "'-cmd|x", ""]


def test_latex_escapes_its_own_signs():
    text = as_latex(TABLE)
    assert text.startswith("\\begin{tabular}{lrr}\n\\toprule\nmethod & error \\% & difference \\\\\n\\midrule\n")
    assert "MixUp (\\texttt{mixup}) & \\textbf{1.50 $\\pm$ 0.10} & " in text
    assert "50 \\% \\& |more|\\_" in text
