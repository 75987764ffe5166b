/** Databases of a run that was asked for `--fleet`: what its tests share is one PostgreSQL. */
import { randomBytes } from 'node:crypto'
import { Client } from 'pg'

export const MACHINES = 3

/** Where a fleet is asked for: the URL of a PostgreSQL that runs, whose user may make databases. */
export const FLEET_DATABASE_URL = process.env.TEST_FLEET_DATABASE_URL ?? ''

/** A new database in the PostgreSQL of the run; its URL. */
export async function createDatabase(): Promise<string> {
  const name = `sluice_${process.pid}_${randomBytes(4).toString('hex')}`
  await administer(`CREATE DATABASE ${name}`)
  const url = new URL(FLEET_DATABASE_URL)
  url.pathname = `/${name}`
  return url.href
}

export async function dropDatabase(url: string): Promise<void> {
  await administer(`DROP DATABASE ${new URL(url).pathname.slice(1)} WITH (FORCE)`)
}

async function administer(statement: string): Promise<void> {
  const client = new Client({ connectionString: FLEET_DATABASE_URL })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
