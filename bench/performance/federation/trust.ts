/** Makes a running server trust an identity provider, through its management operations. */
import { MANAGEMENT_KEY } from '../gateway/calls.js'
import { AUDIENCE, type LocalIssuer } from './local-issuer.js'

/** Settings under which a server takes a provider of this machine and counts no exchanges. */
export const FEDERATION_ENVIRONMENT: Readonly<Record<string, string>> = {
  SLUICE_ALLOW_LOOPBACK_ISSUERS: 'on',
  SLUICE_EXCHANGES_PER_MINUTE: '0',
}

/** Asks for what a real policy asks: a prefix of the subject and a second look at the audience. */
const CONDITION = 'subject.startsWith("repo:octo/") && "sluice" in audience'

/** What a management operation answers. */
// biome-ignore lint/suspicious/noExplicitAny: records of many kinds, read by those who have just made them
type AdminRecord = any

interface AdminReply {
  readonly status: number
  readonly text: string
}

/** A policy with what belongs to it. */
export interface FederationTrust {
  readonly issuerId: string
  readonly policyId: string
  /** The key that tokens act for. */
  readonly key: string
  readonly keyHash: string
}

export class AdminClient {
  /** `origin`: `http://127.0.0.1:port`. */
  constructor(
    private readonly origin: string,
    private readonly credential: string = MANAGEMENT_KEY,
  ) {}

  /** The same server under another management key. */
  withCredential(credential: string): AdminClient {
    return new AdminClient(this.origin, credential)
  }

  /** One operation, whatever it answers. */
  async request(method: string, path: string, body?: object): Promise<AdminReply> {
    const response = await fetch(`${this.origin}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${this.credential}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, text: await response.text() }
  }

  /** One operation that has to succeed. Throws with the answer when it does not. */
  async requireSuccess(method: string, path: string, body?: object): Promise<AdminRecord> {
    const { status, text } = await this.request(method, path, body)
    if (status >= 300) throw new Error(`${method} ${path} was answered with ${status} ${text.slice(0, 300)}`)
    return JSON.parse(text)
  }

  async newIssuer({ url }: Pick<LocalIssuer, 'url'>): Promise<string> {
    const wish = { name: 'of the bench', issuer_url: url }
    return (await this.requireSuccess('POST', '/federation/issuers', wish)).data.id
  }

  async newKey(more: object = {}): Promise<Pick<FederationTrust, 'key' | 'keyHash'>> {
    const { data, key } = await this.requireSuccess('POST', '/keys', { name: 'of the bench', ...more })
    return { key, keyHash: data.hash }
  }

  /** Resolves with the policy's id. Without a condition unless `more` brings one. */
  async newPolicy(
    { issuerId, keyHash }: Pick<FederationTrust, 'issuerId' | 'keyHash'>,
    more: object,
  ): Promise<string> {
    const wish = { issuer_id: issuerId, api_key_hash: keyHash, audience: AUDIENCE, ...more }
    return (await this.requireSuccess('POST', '/federation/policies', wish)).data.id
  }

  /** An issuer, a key and a policy that fit each other; the policy has the bench's condition unless `more` says other. */
  async trustIssuer(issuer: Pick<LocalIssuer, 'url'>, more: object = {}): Promise<FederationTrust> {
    const issuerId = await this.newIssuer(issuer)
    const requireSuccess = await this.newKey()
    const policyId = await this.newPolicy({ issuerId, ...requireSuccess }, { condition: CONDITION, ...more })
    return { issuerId, policyId, ...requireSuccess }
  }
}
