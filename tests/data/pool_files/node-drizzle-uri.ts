import { drizzle } from "drizzle-orm/mysql2";
import mysql from "mysql2/promise";

const connections = mysql.createPool({
  uri: process.env.SAMPLE_URL,
  connectionLimit: 10,
});

export const database = drizzle(connections);
