print("bluebench")
