"""One module an exercise: its reference, its named wrong answers, its draws and its hints."""
