import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'tap'
import { statementKind } from '../../../src/store/postgres/statement-kinds.js'

test('a statement is counted by the first table or function of ours that it names', async (t) => {
  for (const [sql, kind] of [
    ['BEGIN ISOLATION LEVEL REPEATABLE READ', 'transaction'],
    ['ROLLBACK', 'transaction'],
    ['UPDATE sluice.machines SET beat = 1, applied = (SELECT version FROM sluice.change_head)', 'membership'],
    ['SELECT version FROM sluice.change_head', 'records'],
    ['SELECT * FROM sluice.bank($1, $2)', 'bank'],
    ['SELECT * FROM sluice.take_journals($1)', 'ledger'],
    ['SELECT json FROM sluice.items WHERE id = $1', 'practice'],
    ['SELECT 1', 'other'],
  ] as const) {
    t.equal(statementKind(sql), kind, sql)
    t.equal(statementKind(sql), kind, `${sql} again`)
  }
})

test('every table and function of the migrations that statements name has a kind', async (t) => {
  const folder = 'src/store/postgres'
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts') && name !== 'migrate.ts')
  const names = files.flatMap(
    (name) => readFileSync(`${folder}/${name}`, 'utf8').match(/sluice\.[a-z]\w+/g) ?? [],
  )
  t.ok(names.length > 10)
  for (const name of new Set(names)) t.not(statementKind(`SELECT FROM ${name}`), 'other', name)
})
