/** Signing in: with a management key, or at the identity provider that the address names. */
import { useState } from 'preact/hooks'
import { ROOT } from '../api/call.ts'
import { Field, Form, textIn } from '../kit/form.tsx'
import { Note } from '../kit/note.tsx'
import { keep, kept } from './kept.ts'
import { place, to } from './location.ts'
import { Logo } from './logo.tsx'
import { hasEnded, signIn } from './session.ts'

/** Whoever has come by a provider once finds it again when the session has ended. The id is no secret. */
const PROVIDER = 'sign-in-provider'

export function SignIn() {
  const named = place.value.query.get('sign_in')
  if (named !== null) keep(PROVIDER, named)
  const provider = named ?? kept(PROVIDER)
  // A browser drops the cookie of a session elsewhere, so nobody should send a key first.
  const isSecure = window.isSecureContext
  return (
    <main class="sign-in">
      <div class="sign-in-box">
        <Logo />
        <h1>Sign in</h1>
        {hasEnded.value && isSecure && <Note is="attention">Your session has ended. Sign in to go on.</Note>}
        {isSecure ? (
          <>
            {provider !== null && <ProviderLink provider={provider} />}
            <KeyForm isSecond={provider !== null} />
          </>
        ) : (
          <InsecurePlace />
        )}
      </div>
    </main>
  )
}

function ProviderLink({ provider }: { provider: string }) {
  const { screen, id, query: filters } = place.value
  const query = new URLSearchParams({
    return_to: to(screen, id, { ...Object.fromEntries(filters), sign_in: null }),
  })
  return (
    <a class="button primary wide" href={`${ROOT}api/v1/sign-in/${encodeURIComponent(provider)}?${query}`}>
      Sign in with your organization
    </a>
  )
}

function KeyForm({ isSecond }: { isSecond: boolean }) {
  const [isShown, setShown] = useState(!isSecond)
  if (!isShown) {
    return (
      <button type="button" class="plain" onClick={() => setShown(true)}>
        Use a management key instead
      </button>
    )
  }
  const send = async (fields: FormData) => {
    const problem = await signIn(textIn(fields, 'key'))
    return problem === null ? { ok: true as const, data: null, etag: null } : { ok: false as const, problem }
  }
  return (
    <Form submit="Sign in" send={send} done={() => {}}>
      <Field
        label="Management key"
        name="key"
        type="password"
        hint="The server prints one at its first start, unless SLUICE_MANAGEMENT_KEY sets it. It is exchanged for a session of 8 hours, and not kept. Members open the link of their organization."
      />
    </Form>
  )
}

function InsecurePlace() {
  return (
    <Note is="attention">
      <p>Sign-in needs https.</p>
      <p>
        A browser drops the cookie of a session that comes in the clear. Open the console through a TLS proxy,
        give the server a certificate with <code>SLUICE_TLS_KEY</code> and <code>SLUICE_TLS_CERT</code>, or
        open it on the server’s own machine by its loopback address.
      </p>
    </Note>
  )
}
