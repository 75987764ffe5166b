import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { test } from 'tap'
import type { Principal } from '../../../src/base/principal.js'
import { endUserPseudonym } from '../../../src/gateway/run/provider-call.js'
import { CALLER } from '../../support/providers/scripted-provider.js'

const FORM = /^user-[0-9a-f]{40}$/
const caller = (more: Partial<Principal> = {}): Principal => ({ ...CALLER, ...more })

test('the pseudonym has one form and holds nothing of what it stands for', async () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (user) => {
      const told = endUserPseudonym(CALLER, user)
      const inClear = user.length > 8 && told.includes(user)
      const hashedAlone = told.includes(createHash('sha256').update(user).digest('hex').slice(0, 40))
      return FORM.test(told) && !inClear && !hashedAlone
    }),
  )
})

test('the same end user is the same, whichever key of the organization asks', async (t) => {
  const other = caller({ keyHash: 'b'.repeat(64), workspaceId: 'another' })
  t.equal(endUserPseudonym(CALLER, 'alice'), endUserPseudonym(other, 'alice'))
  t.not(endUserPseudonym(CALLER, 'alice'), endUserPseudonym(CALLER, 'bob'))
})

test('two organizations never share a pseudonym', async (t) => {
  const stranger = caller({ organizationId: '01900000-0000-7000-8000-00000000000f' })
  t.not(endUserPseudonym(CALLER, 'alice'), endUserPseudonym(stranger, 'alice'))
  t.not(endUserPseudonym(CALLER, undefined), endUserPseudonym(stranger, undefined))
})

test('who names nobody is told as the account, the same each time', async (t) => {
  const account = endUserPseudonym(CALLER, undefined)
  t.match(account, FORM)
  t.equal(endUserPseudonym(CALLER, undefined), account)
  t.equal(endUserPseudonym(CALLER, ''), account, 'an empty name is none')
  t.equal(endUserPseudonym(caller(), undefined), account, 'also for a principal made anew')
  t.not(endUserPseudonym(caller({ workspaceId: 'another' }), undefined), account)
  t.match(endUserPseudonym(caller({ workspaceId: null }), undefined), FORM)
})

test('no end user can name himself like the account', async (t) => {
  const { organizationId, workspaceId } = CALLER
  for (const user of [`account\n${organizationId}\n${workspaceId}`, workspaceId ?? '', organizationId]) {
    t.not(endUserPseudonym(CALLER, user), endUserPseudonym(CALLER, undefined))
  }
})
