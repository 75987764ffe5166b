/** contract/directory 5: one table says which operation asks for what. With `WRITE_TABLES=1` it is written. */
import { test } from 'tap'
import { accessTable, tableOfPage, writeTable } from './access-table.js'

test('the guide shows the access of every operation as the document has it', async (t) => {
  if (process.env.WRITE_TABLES === '1') writeTable()
  t.equal(tableOfPage(), accessTable())
})
