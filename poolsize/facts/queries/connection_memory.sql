-- How large are the buffers that each connection has even while it is idle?
SHOW VARIABLES WHERE Variable_name IN ('thread_stack', 'net_buffer_length')
