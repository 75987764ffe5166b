import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { ATTACKS } from '../../bench/trials/attacks/attacks.js'

test('docs/attacks.md tells of every attack that the trials play, and of no other', async (t) => {
  const page = readFileSync('docs/attacks.md', 'utf8')
  const told = [...page.matchAll(/^\| `(attack-[a-z-]+)` \|/gm)].map(([, name]) => name)
  t.same(told.toSorted(), ATTACKS.map(({ name }) => name).toSorted())
})
