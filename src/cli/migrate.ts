/** `sluice migrate`: brings the schema of the shared PostgreSQL to this release, as every start does. */
import type { FleetCommandSettings } from '../compose/fleet-commands.js'
import { type CommandOutput, type PrintOutput, parseCommandArgs, runCommand } from './command.js'
import { runOnFleet } from './fleet-access.js'

const MIGRATE_USAGE = `usage: sluice migrate [--check]

Brings the schema of the PostgreSQL that SLUICE_DATABASE_URL names to this release, and tells what it did. Every machine
does the same when it starts; this does it before the first of them. Migrations only add, so machines of the release
before go on meanwhile, and may start again. A database of a newer release that does not serve this one, or with tables
of something else, is left as it is.

  --check    change nothing; exit code 1 when there is something to do

Exit code 0 when the schema has what this release needs, 1 when it could not be done, 2 when the database must not be used.
`

const OPTIONS = { check: { type: 'boolean' } } as const

export function migrateCommand(
  args: readonly string[],
  settings: () => Promise<FleetCommandSettings>,
  print: PrintOutput,
): Promise<number> {
  return runCommand({ args, usage: MIGRATE_USAGE, print }, async () => {
    const { values } = parseCommandArgs('migrate', args, OPTIONS, false)
    return runOnFleet(await settings(), async ({ schema }): Promise<CommandOutput> => {
      if (values.check !== true) return { text: describeDone(await schema.migrate()) }
      const { applied, pending } = await schema.read()
      const lines = [
        ...applied.map((name) => `applied  ${name}\n`),
        ...pending.map((name) => `pending  ${name}\n`),
      ]
      return { text: lines.join(''), code: pending.length === 0 ? 0 : 1 }
    })
  })
}

function describeDone(applied: readonly string[]): string {
  if (applied.length === 0) return 'the schema has what this release needs: nothing to do\n'
  return applied.map((name) => `applied  ${name}\n`).join('')
}
