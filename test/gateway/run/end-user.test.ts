import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { test } from 'tap'
import type { Principal } from '../../../src/base/principal.js'
import { endUserOf } from '../../../src/gateway/run/end-user.js'
import { CALLER } from '../../support/providers/scripted-provider.js'

const FORM = /^user-[0-9a-f]{40}$/
const caller = (more: Partial<Principal> = {}): Principal => ({ ...CALLER, ...more })

test('the pseudonym has one form and holds nothing of what it stands for', async () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (user) => {
      const told = endUserOf(CALLER, user)
      const inClear = user.length > 8 && told.includes(user)
      const hashedAlone = told.includes(createHash('sha256').update(user).digest('hex').slice(0, 40))
      return FORM.test(told) && !inClear && !hashedAlone
    }),
  )
})

test('the same end user is the same, whichever key of the organization asks', async (t) => {
  const other = caller({ keyHash: 'b'.repeat(64), workspaceId: 'another' })
  t.equal(endUserOf(CALLER, 'alice'), endUserOf(other, 'alice'))
  t.not(endUserOf(CALLER, 'alice'), endUserOf(CALLER, 'bob'))
})

test('two organizations never share a pseudonym', async (t) => {
  const stranger = caller({ organizationId: '01900000-0000-7000-8000-00000000000f' })
  t.not(endUserOf(CALLER, 'alice'), endUserOf(stranger, 'alice'))
  t.not(endUserOf(CALLER, undefined), endUserOf(stranger, undefined))
})

test('who names nobody is told as the account, the same each time', async (t) => {
  const account = endUserOf(CALLER, undefined)
  t.match(account, FORM)
  t.equal(endUserOf(CALLER, undefined), account)
  t.equal(endUserOf(CALLER, ''), account, 'an empty name is none')
  t.equal(endUserOf(caller(), undefined), account, 'also for a principal made anew')
  t.not(endUserOf(caller({ workspaceId: 'another' }), undefined), account)
  t.match(endUserOf(caller({ workspaceId: null }), undefined), FORM)
})

test('no end user can name himself like the account', async (t) => {
  const { organizationId, workspaceId } = CALLER
  for (const user of [`account\n${organizationId}\n${workspaceId}`, workspaceId ?? '', organizationId]) {
    t.not(endUserOf(CALLER, user), endUserOf(CALLER, undefined))
  }
})
