const mariadb = require('mariadb')
const connections = mariadb.createPool({
  host: 'db',
  user: 'sample',
  database: 'sample',
  // connectionLimit: 150,
  acquireTimeout: 300000,
})

module.exports = connections
