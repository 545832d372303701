"""A user's folder of images by class: `tree` finds the files, `decode` and `workers` turn them into pixels, `packed`
keeps these in a cache, `streamed` does without one where the disk is full, `folder` makes the `DataSet`.
"""
