"""The kernel race: decode attention in all its forms, on a GPU or a CPU, against ceilings and targets."""
