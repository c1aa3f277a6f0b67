let board = Switchboard()
