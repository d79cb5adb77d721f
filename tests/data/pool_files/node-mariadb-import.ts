import {createPool} from "mariadb";

const connections = createPool({
    host: process.env.SAMPLE_HOST  || 'localhost',
    connectionLimit: 5,
    connectTimeout: 1000,
    acquireTimeout: 1000,
});

async function main() {
    const connection = await connections.getConnection();
    connection.release();
}

main().catch(console.error);
