<?php

return [
	'driver' => 'mysql',
	'host' => 'localhost',
	'strict' => true,
	'options' => extension_loaded('pdo_mysql') ? array_filter([
		PDO::MYSQL_ATTR_SSL_CA => env('SAMPLE_CA'),
		PDO::ATTR_PERSISTENT => true,
	]) : [],
];
