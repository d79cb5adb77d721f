// The task service: Node's http and mysql2. Its argument is the port; SHOP_DATABASE and POOL_SIZE configure the pool.
// USES is a file to which each request for the newest tasks appends when it asked for its connection and when it gave it
// back, in Unix seconds.
import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { createServer } from 'node:http'
import mysql from 'mysql2/promise'

const pool = mysql.createPool({
  uri: process.env.SHOP_DATABASE,
  connectionLimit: Number(process.env.POOL_SIZE),
  maxIdle: Number(process.env.POOL_SIZE),
  queueLimit: 0,
})

const uses = process.env.USES && createWriteStream(process.env.USES)
const now = () => (performance.timeOrigin + performance.now()) / 1000

const routes = {
  'GET /health': async () => (await pool.query('SELECT 1'))[0],
  'POST /tasks': async () => {
    const task = randomBytes(16).toString('hex')
    await pool.query('INSERT INTO tasks (task_id) VALUES (?)', [task])
    return task
  },
  'GET /tasks': async () => {
    const asked = now()
    const [tasks] = await pool.query('SELECT task_id FROM tasks ORDER BY id DESC LIMIT 10')
    uses?.write(`${asked} ${now()}\n`)
    return tasks
  },
}

createServer(async (request, answer) => {
  const route = routes[`${request.method} ${request.url}`]
  try {
    const body = JSON.stringify(route ? await route() : null)
    answer.writeHead(route ? 200 : 404, { 'Content-Type': 'application/json' }).end(body)
  } catch (error) {
    answer.writeHead(500).end(String(error))
  }
}).listen(Number(process.argv[2]), '127.0.0.1')
