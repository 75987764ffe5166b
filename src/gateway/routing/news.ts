/** What the workers of a server tell each other so that they route alike. */
import type { HealthNews } from '../health/health.js'
import type { SessionNews } from './session.js'

export type RoutingNews =
  | { readonly about: 'health'; readonly health: HealthNews }
  | { readonly about: 'session'; readonly session: SessionNews }
