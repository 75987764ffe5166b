import fc from 'fast-check'
import { test } from 'tap'
import { entityTagOf, ifMatchAllows } from '../../src/http/entity-tags.js'

const TAG = entityTagOf({ name: 'one', at: null })

test('a tag is strong, follows from what is shown, and is another one when any of it changes', async (t) => {
  t.match(TAG, /^"[\w-]{22}"$/)
  t.equal(entityTagOf({ name: 'one', at: null }), TAG)
  t.not(entityTagOf({ name: 'one', at: '' }), TAG)
})

test('no header and `*` allow any version, lists the versions in them, weak tags none', async (t) => {
  for (const header of ['', '*', ' * ', TAG, `"other", ${TAG}`, `${TAG},"x"`, `W/"a",${TAG}`, `"a,b",${TAG}`])
    t.ok(ifMatchAllows(header, TAG), header)
  for (const header of [
    '"other"',
    `W/${TAG}`,
    TAG.slice(1),
    TAG.slice(0, -1),
    `x${TAG}`,
    `*,${TAG}`,
    ',',
    '""',
  ])
    t.notOk(ifMatchAllows(header, TAG), header)
})

test('whatever comes as a header is read at once, and allows nothing that it does not name', async (t) => {
  const part = fc.constantFrom('"', ',', ' ', '*', 'W/', TAG, 'x', '"other"', '\t', ';')
  fc.assert(
    fc.property(fc.array(part, { maxLength: 2_000 }), (parts) => {
      const header = parts.join('')
      const isAllowed = ifMatchAllows(header, TAG)
      t.ok(typeof isAllowed === 'boolean')
      if (isAllowed && header !== '') return header.trim() === '*' || header.includes(TAG)
      return true
    }),
    { numRuns: 300 },
  )
})
