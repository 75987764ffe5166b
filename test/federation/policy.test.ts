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

const ISSUER = 'issuer_id must be an issuer of the organization'
const KEY = 'api_key_hash must be a key of the organization'
const WORKSPACE_KEY = 'api_key_hash must be a workspace key'
const long = 'a'.repeat(513)

/** Each: what is wrong, what is found, what ought to be. */
const REFUSED: readonly (readonly [what: string, found: string[], ...wanted: string[]])[] = [
  [
    'neither subject nor condition',
    defects({ subject: null }),
    'subject must be set when there is no condition',
  ],
  ['an empty subject', defects({ subject: '' }), 'subject must not be empty'],
  ['a long subject', defects({ subject: long }), 'subject must have at most 512 characters'],
  ['an empty audience', defects({ audience: '' }), 'audience must not be empty'],
  ['a long audience', defects({ audience: long }), 'audience must have at most 512 characters'],
  [
    'empty checks',
    defects({ claimChecks: { scopes: '', tokenType: '' } }),
    'claim_checks.scopes must not be empty',
    'claim_checks.token_type must not be empty',
  ],
  ['an unknown issuer', defects({}, keyOf(1), null), ISSUER],
  [
    'an issuer of another organization',
    defects({}, keyOf(1), issuerOf(1, { organizationId: idOf(2) })),
    ISSUER,
  ],
  ['an unknown key', defects({}, null), KEY],
  ['a key of another organization', defects({}, keyOf(1, { organizationId: idOf(2) })), KEY],
  ['a deleted key', defects({}, keyOf(1, { deletedAt: 1 })), KEY],
  ['a personal key', defects({}, keyOf(1, { kind: 'personal' })), WORKSPACE_KEY],
  ['a management key', defects({}, keyOf(1, { kind: 'management' })), WORKSPACE_KEY],
]

for (const [what, found, ...wanted] of REFUSED) {
  void test(`a policy with ${what} cannot be saved, and the field is named`, async (t) => {
    t.strictSame(found, wanted)
  })
}
