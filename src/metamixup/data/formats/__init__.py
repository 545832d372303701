"""One file for each format of data (idx, CIFAR's binary, .mat, .npz, tar, the Hub's parquet, the embedded digits).

Each turns files into a `DataSet` and checks every size that a file declares before it allocates memory (`reading`).
"""
