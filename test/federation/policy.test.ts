import { test } from 'tap'
import { type PolicyDraft, policyIssues } from '../../src/federation/admin/policy-service.js'
import type { ApiKey } from '../../src/store/account-store.js'
import { idOf, keyOf } from '../support/data/accounts.js'
import { issuerOf, policyOf } from '../support/data/federation.js'

function defects(
  more: Partial<PolicyDraft>,
  key: ApiKey | null = keyOf(1),
  issuer: { organizationId: string } | null = issuerOf(1),
): string[] {
  return policyIssues(policyOf(1, more), idOf(1), issuer, key).map(
    ({ loc, note }) => `${loc.slice(1).join('.')} ${note}`,
  )
}

void test('a policy with subject, condition or both can be saved', async (t) => {
  t.strictSame(defects({}), [])
  t.strictSame(defects({ subject: null, condition: 'true' }), [])
  t.strictSame(defects({ condition: 'true', claimChecks: { scopes: 'a', tokenType: 'b' } }), [])
  t.strictSame(defects({ subject: '😀'.repeat(512) }), [])
  t.strictSame(defects({}, keyOf(1, { disabled: true })), [], 'a disabled key may be enabled again')
})

const REFUSED: Readonly<Record<string, readonly [string[], ReturnType<typeof defects>]>> = {
  'neither subject nor condition': [
    ['subject must be set when there is no condition'],
    defects({ subject: null }),
  ],
  'an empty subject': [['subject must not be empty'], defects({ subject: '' })],
  'a long subject': [['subject must have at most 512 characters'], defects({ subject: 'a'.repeat(513) })],
  'an empty audience': [['audience must not be empty'], defects({ audience: '' })],
  'a long audience': [['audience must have at most 512 characters'], defects({ audience: 'a'.repeat(513) })],
  'empty checks': [
    ['claim_checks.scopes must not be empty', 'claim_checks.token_type must not be empty'],
    defects({ claimChecks: { scopes: '', tokenType: '' } }),
  ],
  'an unknown issuer': [['issuer_id must be an issuer of the organization'], defects({}, keyOf(1), null)],
  'an issuer of another organization': [
    ['issuer_id must be an issuer of the organization'],
    defects({}, keyOf(1), issuerOf(1, { organizationId: idOf(2) })),
  ],
  'an unknown key': [['api_key_hash must be a key of the organization'], defects({}, null)],
  'a key of another organization': [
    ['api_key_hash must be a key of the organization'],
    defects({}, keyOf(1, { organizationId: idOf(2) })),
  ],
  'a deleted key': [
    ['api_key_hash must be a key of the organization'],
    defects({}, keyOf(1, { deletedAt: 1 })),
  ],
  'a personal key': [['api_key_hash must be a workspace key'], defects({}, keyOf(1, { kind: 'personal' }))],
  'a management key': [
    ['api_key_hash must be a workspace key'],
    defects({}, keyOf(1, { kind: 'management' })),
  ],
}

for (const [what, [wanted, found]] of Object.entries(REFUSED)) {
  void test(`a policy with ${what} cannot be saved, and the field is named`, async (t) => {
    t.strictSame(found, wanted)
  })
}
