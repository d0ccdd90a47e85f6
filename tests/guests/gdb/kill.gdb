kill
#: killed
