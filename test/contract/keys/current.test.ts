/** contract/gateway 11.2: a key about itself. */
import { test } from 'tap'
import { keyLabel } from '../../../src/identity/api-keys.js'
import { accountApi, refused } from '../../support/servers/account-api.js'

test('an ordinary key reads about itself', async (t) => {
  const { call, apiKey, accounts } = await accountApi(t)
  const [organization] = accounts.organizations()
  const [workspace] = accounts.workspacesOf(organization!.id)
  const { status, json } = await call(apiKey, 'GET', '/key')
  t.equal(status, 200)
  t.strictSame(json, {
    data: {
      label: keyLabel(apiKey),
      limit: null,
      limit_remaining: null,
      limit_reset: null,
      include_byok_in_limit: false,
      usage: 0,
      usage_daily: 0,
      usage_weekly: 0,
      usage_monthly: 0,
      byok_usage: 0,
      byok_usage_daily: 0,
      byok_usage_weekly: 0,
      byok_usage_monthly: 0,
      creator_user_id: null,
      expires_at: null,
      is_free_tier: false,
      is_management_key: false,
      is_provisioning_key: false,
      organization_id: organization!.id,
      workspace_id: workspace!.id,
      allowed_data_regions: ['global'],
      free_model_daily_requests: { limit: -1, remaining: -1, used: 0 },
      rate_limit: { requests: -1, interval: '10s', note: 'There is no rate limit.' },
    },
  })
})

test('a management key reads that it is one and has no workspace', async (t) => {
  const { manage } = await accountApi(t)
  const { data } = (await manage('GET', '/key')).json
  t.match(data, { is_management_key: true, is_provisioning_key: true, workspace_id: null })
})

test('a key reads its own limit and end, and the plan of its organization', async (t) => {
  const { call, manage, accounts } = await accountApi(t)
  const wanted = { name: 'x', limit: 2.5, limit_reset: 'daily', expires_at: '2033-01-01T00:00:00Z' }
  const { key } = (await manage('POST', '/keys', wanted)).json
  t.match((await call(key, 'GET', '/key')).json.data, {
    limit: 2.5,
    limit_remaining: 2.5,
    limit_reset: 'daily',
    expires_at: '2033-01-01T00:00:00.000Z',
    is_free_tier: false,
  })
  const [organization] = accounts.organizations()
  await manage('PATCH', `/organizations/${organization!.id}`, { plan: 'free' })
  t.equal((await call(key, 'GET', '/key')).json.data.is_free_tier, true)
})

test('nobody and strangers are refused', async (t) => {
  const { call } = await accountApi(t)
  refused(t, await call('', 'GET', '/key'), 401, 'Missing Authentication header')
  refused(t, await call('stranger', 'GET', '/key'), 401, 'Invalid credentials')
})
