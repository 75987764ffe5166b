/** Credits of an organization, and what they were set to before: each change with its time and who made it. */
import type { CreditsChange, Organization } from '../store/account-store.js'

/** Older changes are dropped: the record is read with every call. */
const MOST_CHANGES = 50

/** The organization with other credits (nano-dollars, null for no end), and this change as the last of its history. */
export function withCredits(organization: Organization, change: CreditsChange): Organization {
  const { creditsHistory = [] } = organization
  return {
    ...organization,
    credits: change.credits,
    creditsHistory: [...creditsHistory, change].slice(-MOST_CHANGES),
  }
}
