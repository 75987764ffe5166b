/** Which issuers are remembered: many in all, and no organization's at the cost of another (contract/decisions 64). */

/** Most that all issuers weigh together. A key takes about two kilobytes. */
const LARGEST_WEIGHT = 8192
/** Most issuers that are remembered without their keys. */
const MOST_PUT_ASIDE = 4096

interface RememberedIssuer {
  readonly source: { readonly id: string; readonly organizationId: string }
  /** One, and one for each of its keys. */
  weight(): number
  /** Gives up its keys. */
  dropKeys(): void
}

class OrganizationIssuers<I> {
  /** By id, in the order of their last use. */
  readonly issuers = new Map<string, I>()
  weight = 0
}

/**
 * Beyond the bound the organization whose issuers weigh most gives up the one it needed longest ago: who has more than
 * others pays with its own. What is given up is put aside without its keys, so that it is still known when it was
 * fetched, and that it is being fetched now.
 */
export class IssuerQuotas<I extends RememberedIssuer> {
  private readonly organizations = new Map<string, OrganizationIssuers<I>>()
  private readonly weights = new Map<I, number>()
  private weight = 0
  /** By id, the first put aside first. */
  private readonly aside = new Map<string, I>()

  get({ id, organizationId }: I['source']): I | null {
    return this.organizations.get(organizationId)?.issuers.get(id) ?? this.aside.get(id) ?? null
  }

  /** Remembers an issuer as the latest, in place of the one of its id, with what it weighs now. */
  keep(issuer: I): void {
    const { id, organizationId } = issuer.source
    const former = this.get(issuer.source)
    if (former !== null) this.forget(former)
    this.aside.delete(id)
    const own = this.organizations.get(organizationId) ?? new OrganizationIssuers<I>()
    this.organizations.set(organizationId, own)
    own.issuers.set(id, issuer)
    const weight = issuer.weight()
    this.weights.set(issuer, weight)
    own.weight += weight
    this.weight += weight
    while (this.weight > LARGEST_WEIGHT) this.putAside(this.mostDispensable(issuer))
  }

  /** Of the heaviest organization the issuer needed longest ago; never the one that is needed now. */
  private mostDispensable(needed: I): I {
    let heaviest = 0
    let found = needed
    for (const { weight, issuers } of this.organizations.values()) {
      if (weight <= heaviest) continue
      const first: I = issuers.values().next().value!
      if (first === needed) continue
      heaviest = weight
      found = first
    }
    return found
  }

  private putAside(issuer: I): void {
    this.forget(issuer)
    issuer.dropKeys()
    this.aside.set(issuer.source.id, issuer)
    if (this.aside.size > MOST_PUT_ASIDE) this.aside.delete(this.aside.keys().next().value!)
  }

  private forget(issuer: I): void {
    const weight = this.weights.get(issuer)
    if (weight === undefined) return
    const { id, organizationId } = issuer.source
    const own = this.organizations.get(organizationId)!
    this.weights.delete(issuer)
    this.weight -= weight
    own.weight -= weight
    own.issuers.delete(id)
    if (own.issuers.size === 0) this.organizations.delete(organizationId)
  }
}
