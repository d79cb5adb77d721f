
module.exports = require('knex')({
    client: 'mysql2',
    connection: {
        host: 'db',
        user: 'sample',
        database: 'sample'
    },
    pool: { min: 0, max: 500 }
});
