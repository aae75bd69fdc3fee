run = ""
