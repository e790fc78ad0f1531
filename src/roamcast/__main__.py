"""`python -m roamcast`: the command line without an installed script."""

from roamcast.cli.main import main

if __name__ == "__main__":
    main()
