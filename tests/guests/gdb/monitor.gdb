monitor help
#: v.wait|v.info
monitor v.info n_errs_found text
#: n_errs_found
monitor nothing of the kind
#: not recognised
continue
#: exited normally
