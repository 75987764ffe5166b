/** What the workers of a server tell each other so that they route alike. */
import type { HealthUpdate } from '../health/health-registry.js'
import type { ModelPin } from './model-pins.js'
import type { SessionMove } from './session.js'

export type RoutingUpdate =
  | { readonly about: 'health'; readonly health: HealthUpdate }
  | { readonly about: 'session'; readonly session: SessionMove }
  | { readonly about: 'pin'; readonly pin: ModelPin }
