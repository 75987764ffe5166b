/**
 * contract/decisions 46 and 62: nothing that a caller sends disappears without a word. With `WRITE_TABLES=1` the
 * tables of the guide are written instead of compared.
 */
import { test } from 'tap'
import { type MemberTables, measureMembers, memberTable, tableOfPage, writeTables } from './member-table.js'

let tables: MemberTables

test('every member is passed, crosses, is executed, told or refused by name', async (t) => {
  tables = await measureMembers(t)
  for (const [name, rows] of Object.entries(tables)) {
    for (const { member, fates } of rows) {
      for (const [kind, fate] of Object.entries(fates))
        t.not(fate, 'nothing', `${name}: ${member} to ${kind}`)
    }
  }
  if (process.env.WRITE_TABLES === '1') writeTables(tables)
})

test('the guide shows what was seen', async (t) => {
  for (const [name, rows] of Object.entries(tables)) t.equal(tableOfPage(name), memberTable(rows), name)
})
