/** Sign-in providers: their operations, and what they are on the wire. */
import { z } from 'zod'
import type { SignInProviderService } from '../../federation/admin/sign-in-provider-service.js'
import { recordEncoder } from '../../http/answers.js'
import type { Endpoint } from '../../http/endpoint.js'
import { boundedString, noteOptions } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { redirectUriOf, signInUrl } from '../../identity/sign-in/sign-in-urls.js'
import type { SignInProvider } from '../../store/session-store.js'
import { recordEndpoints } from './record-endpoints.js'
import { closedObject } from './schema.js'

const Name = boundedString(1, 256)
const ClientId = boundedString(1, 512)
const ClientSecret = boundedString(1, 1024)
  .nullable()
  .optional()
  .meta({ description: 'Kept sealed, and never shown; null or absent for a public client.' })

/** RFC 6749 section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/
const Scopes = z
  .array(
    boundedString(1, 128).refine(
      (text) => SCOPE.test(text),
      noteOptions('must be printable ASCII without spaces'),
    ),
  )
  .max(20)
  .meta({ description: 'What is asked for beside `openid`.' })

/** Claims that a person, or an admin of another system, can change: whoever has the text would be the member. */
const CHANGEABLE = ['email', 'preferred_username', 'upn', 'unique_name', 'nickname', 'name']
const SubjectClaim = boundedString(1, 128)
  .refine(
    (text) => !CHANGEABLE.includes(text),
    noteOptions('must be a claim that no one can change: no mail address and no name'),
  )
  .meta({
    description:
      'The claim of an ID token that is the member’s `externalId`: `sub` unless it is told, and `oid` for Entra ID.',
  })

const SignInProviderIn = nameSchema(
  'SignInProviderIn',
  closedObject({
    name: Name,
    issuer: boundedString(1, 2048).meta({
      description: 'Equal to the ID tokens’ `iss`, character by character; https.',
    }),
    client_id: ClientId,
    client_secret: ClientSecret,
    connection_id: boundedString(1, 256).nullable().optional().meta({
      description: 'Whose members: those of this connection, otherwise those who were added by hand.',
    }),
    subject_claim: SubjectClaim.optional(),
    scopes: Scopes.optional(),
  }),
)

const SignInProviderChanges = nameSchema(
  'SignInProviderChanges',
  closedObject({
    name: Name.optional(),
    client_id: ClientId.optional(),
    client_secret: ClientSecret,
    scopes: Scopes.optional(),
  }),
)

const SignInProviderOut = nameSchema(
  'SignInProvider',
  z.object({
    id: z.string(),
    organization_id: z.string(),
    name: z.string(),
    issuer: z.string(),
    client_id: z.string(),
    has_client_secret: z.boolean(),
    connection_id: z.string().nullable(),
    subject_claim: z.string(),
    scopes: z.array(z.string()),
    redirect_uri: z.string().meta({ description: 'What to enter at the provider.' }),
    sign_in_url: z.string().meta({ description: 'What members open.' }),
    created_at: z.string(),
    updated_at: z.string().nullable(),
  }),
)

const encode = recordEncoder(SignInProviderOut)

function encodeSignInProvider(provider: SignInProvider, baseUrl: string): z.infer<typeof SignInProviderOut> {
  return encode({
    ...provider,
    scopes: [...provider.scopes],
    hasClientSecret: provider.sealedSecret !== null,
    redirectUri: redirectUriOf(baseUrl, provider.id),
    signInUrl: signInUrl(baseUrl, provider.id),
  })
}

/** `service` is looked at when a call comes: to describe the operations, none is needed. */
export const signInProviderEndpoints = (service: SignInProviderService): Endpoint[] =>
  recordEndpoints({
    noun: ['provider', 'sign-in providers'],
    names: ['sign_in_provider', 'sign_in_providers'],
    path: '/api/v1/sign-in-providers',
    tag: 'Sign-in',
    summaries: {
      list: 'List the OpenID providers that members sign in with, oldest first',
      create: 'Let members of a directory connection sign in with an OpenID provider',
      read: 'Read one sign-in provider',
      update: 'Change a sign-in provider, from the next sign-in on',
      delete: 'Let nobody sign in with a provider any more; its sessions end',
    },
    schemas: { input: SignInProviderIn, changes: SignInProviderChanges, record: SignInProviderOut },
    examples: {
      input: {
        entra: {
          name: 'Entra ID',
          issuer: 'https://login.microsoftonline.com/6f0c2a9e-5a3b-4b7e-9d7e-1f2a3b4c5d6e/v2.0',
          client_id: '0d3f9a52-7c41-4be6-8a0e-5b7a2c9d1e4f',
          client_secret: 'the secret of the client',
          connection_id: '01a1f979-1e43-72a7-b412-56634c02ee45',
          subject_claim: 'oid',
        },
        okta: {
          name: 'Okta',
          issuer: 'https://acme.okta.com',
          client_id: '0oa1b2c3d4',
          client_secret: 'the secret of the client',
          connection_id: '01a1f979-1e43-72a7-b412-56634c02ee45',
        },
      },
      changes: { rotated: { client_secret: 'the next secret of the client' } },
    },
    encode: (provider) => encodeSignInProvider(provider, service.baseUrl),
    updateFaults: ['item-not-found', 'unavailable'],
    service,
  })
