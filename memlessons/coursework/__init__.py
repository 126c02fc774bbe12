"""The reader's own work: taking a chapter, and later its exercises, checks and feedback."""
