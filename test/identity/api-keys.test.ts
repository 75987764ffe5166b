import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { test } from 'tap'
import { FIXED_KEY_PATTERN } from '../../src/base/fixed-key.js'
import { createKeyRecord, generateKey, hashKey, keyLabel, keyRefusal } from '../../src/identity/api-keys.js'
import { BEGAN, keyOf } from '../support/data/accounts.js'

test('a key is the prefix of its kind and 32 random bytes', (t) => {
  t.match(generateKey('workspace'), /^sk-sluice-v1-[A-Za-z0-9_-]{43}$/)
  t.match(generateKey('personal'), /^sk-sluice-v1-[A-Za-z0-9_-]{43}$/)
  t.match(generateKey('management'), /^sk-sluice-mgmt-[A-Za-z0-9_-]{43}$/)
  t.equal(new Set(Array.from({ length: 1000 }, () => generateKey('workspace'))).size, 1000)
  t.end()
})

test('the hash of a key is its SHA-256 in lower-case hex', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (key) => {
      return hashKey(key) === createHash('sha256').update(key, 'utf8').digest('hex')
    }),
  )
})

test('a label shows who a key is and keeps what it is', (t) => {
  t.equal(keyLabel(`sk-sluice-v1-abc${'-'.repeat(37)}xyz`), 'sk-sluice-v1-abc...xyz')
  t.equal(keyLabel(`sk-sluice-mgmt-abc${'-'.repeat(37)}xyz`), 'sk-sluice-mgmt-abc...xyz')
  t.equal(keyLabel('0123456789abcdef'), '0...f', 'a short one of the operator shows less')
  t.equal(keyLabel('sk-sluice-v1-tiny'), 'sk-sluice-v1-t...y')
  t.equal(keyLabel('x'.repeat(512)), 'xxx...xxx')
  t.end()
})

const FIXED: readonly (readonly [about: string, text: string, good: boolean])[] = [
  ['31 characters', 'a'.repeat(31), false],
  ['32 characters', 'a'.repeat(32), true],
  ['512 characters', 'a'.repeat(512), true],
  ['513 characters', 'a'.repeat(513), false],
  [
    'every printable ASCII character',
    Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).join(''),
    true,
  ],
  ['a space', `${'a'.repeat(20)} ${'a'.repeat(20)}`, false],
  ['a tab', `${'a'.repeat(20)}\t${'a'.repeat(20)}`, false],
  ['a line feed at the end', `${'a'.repeat(32)}\n`, false],
  ['a delete character', `${'a'.repeat(32)}\x7f`, false],
  ['a letter beyond ASCII', `${'a'.repeat(32)}é`, false],
  ['nothing', '', false],
]

for (const [about, text, good] of FIXED) {
  test(`a chosen key of ${about} is ${good ? 'good' : 'refused'}`, (t) => {
    t.equal(FIXED_KEY_PATTERN.test(text), good)
    t.end()
  })
}

test('a new record has neither the key nor anything it was not given', (t) => {
  const key = generateKey('workspace')
  const choice = { kind: 'workspace', name: 'n', organizationId: 'o', workspaceId: 'w' } as const
  const record = createKeyRecord(key, choice, BEGAN)
  t.notOk(JSON.stringify(record).includes(key.slice('sk-sluice-v1-'.length)))
  t.strictSame(record, keyOf(1, { ...choice, hash: hashKey(key), label: keyLabel(key), createdAt: BEGAN }))
  t.equal(createKeyRecord(key, { ...choice, limit: 5, operator: true }, BEGAN).limit, 5)
  t.end()
})

test('a key counts until it is disabled or deleted, or its time has come', (t) => {
  const now = BEGAN + 1000
  t.equal(keyRefusal(keyOf(1), now), null)
  t.equal(keyRefusal(keyOf(1, { expiresAt: now + 1 }), now), null)
  t.equal(keyRefusal(keyOf(1, { expiresAt: now }), now), 'expired')
  t.equal(keyRefusal(keyOf(1, { disabled: true }), now), 'disabled')
  t.equal(keyRefusal(keyOf(1, { deletedAt: 1, disabled: true, expiresAt: 1 }), now), 'deleted')
  t.end()
})
