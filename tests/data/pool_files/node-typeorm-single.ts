import { TypeOrmModule } from '@nestjs/typeorm';
import { settings } from './settings';
import { Person } from './models';

export const Database = TypeOrmModule.forRoot({
    type: 'mysql',
    host: settings.HOST,
    username: settings.USER,
    database: settings.NAME,
    synchronize: true,
    keepConnectionAlive: true,
    entities: [Person],
    extra: { connectionLimit: 1 },
});
