/** How members sign in, and who is signed in: providers and sessions of the organization. */
import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { usePages } from '../../api/resource.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Confirm } from '../../kit/dialogs.tsx'
import { Select } from '../../kit/fields.tsx'
import { Field, Form, textIn } from '../../kit/form.tsx'
import { Page, ProblemNote, Section } from '../../kit/page.tsx'
import { type Column, PagedTable } from '../../kit/table.tsx'
import { Id, Time } from '../../kit/values.tsx'
import { place, setQuery, to } from '../../shell/location.ts'
import { session } from '../../shell/session.ts'
import { tell } from '../../shell/toasts.tsx'
import { CONNECTIONS, type Connection } from '../directory/wire.ts'
import { PROVIDERS, type Provider, SESSIONS, type Session } from './wire.ts'

/** What is to be deleted: the verb, what it is called, and its path. */
type Doomed = readonly [verb: string, name: string, path: string]

export function SignInPage() {
  const providers = usePages<Provider>(PROVIDERS)
  const sessions = usePages<Session>(SESSIONS)
  const connections = usePages<Connection>(`${CONNECTIONS}?limit=100`)
  const [doomed, doom] = useState<Doomed | null>(null)
  const failed = [providers, sessions, connections].find(({ problem }) => problem !== null)
  const close = (): void => {
    setQuery({ new: null })
    doom(null)
  }
  const done = (what: string): void => {
    tell(what)
    close()
    providers.reload()
    sessions.reload()
  }
  return (
    <Page
      title="Sign-in"
      up={{ href: to('members'), title: 'Members' }}
      lead="Members sign in with an OpenID provider of the organization; nobody becomes a member by it."
      actions={
        <button type="button" class="primary" onClick={() => setQuery({ new: 'provider' })}>
          Add a provider
        </button>
      }
    >
      {failed && <ProblemNote problem={failed.problem!} retry={failed.reload} />}
      {providers.rows && sessions.rows && connections.rows && (
        <>
          <Section title="Providers">
            <PagedTable
              caption="Providers"
              columns={[...PROVIDER, endOf<Provider>('Delete', PROVIDERS, doom)]}
              pages={providers}
              keyOf={({ id }) => id}
              empty={<p class="soft">No provider yet: only management keys can sign in.</p>}
            />
          </Section>
          <Section title="Open sessions">
            <PagedTable
              caption="Open sessions"
              columns={[...SESSION, endOf<Session>('End', SESSIONS, doom)]}
              pages={sessions}
              keyOf={({ id }) => id}
              empty={null}
            />
          </Section>
          {place.value.query.get('new') === 'provider' && (
            <AddProvider
              connections={connections.rows}
              close={close}
              done={() => done('The provider is added')}
            />
          )}
        </>
      )}
      {doomed && (
        <Confirm
          title={`${doomed[0]} ${doomed[1]}?`}
          submit={doomed[0]}
          send={() => call('DELETE', doomed[2])}
          done={() => done('It is gone')}
          close={close}
        >
          Who is signed in by it is refused from the next call on.
        </Confirm>
      )}
    </Page>
  )
}

const PROVIDER: readonly Column<Provider>[] = [
  {
    title: 'Name',
    cell: ({ name, issuer }) => (
      <span class="two-lines">
        {name}
        <code class="soft">{issuer}</code>
      </span>
    ),
  },
  { title: 'Redirect address', cell: ({ redirect_uri }) => <Id id={redirect_uri} /> },
  { title: 'Members open', from: 'medium', cell: ({ sign_in_url }) => <Id id={sign_in_url} /> },
]

const SESSION: readonly Column<Session>[] = [
  {
    title: 'Who',
    cell: ({ name, member_id }) =>
      member_id === null ? `key ${name ?? 'deleted'}` : <a href={to('members', member_id)}>{name}</a>,
  },
  { title: 'From', from: 'medium', cell: ({ address }) => address },
  { title: 'Since', cell: ({ created_at }) => <Time at={created_at} /> },
  { title: 'Until', from: 'medium', cell: ({ expires_at }) => <Time at={expires_at} /> },
]

/** The last column of either list; who looks at it ends no session of its own here. */
const endOf = <T extends Provider | Session>(
  verb: string,
  path: string,
  doom: (doomed: Doomed) => void,
): Column<T> => ({
  title: 'Actions',
  align: 'end',
  cell: ({ id, name }) =>
    id === session.value!.session?.id ? (
      <span class="soft">this one</span>
    ) : (
      <button
        type="button"
        class="plain"
        aria-label={`${verb} ${name ?? id}`}
        onClick={() => doom([verb, name ?? id, `${path}/${id}`])}
      >
        {verb}
      </button>
    ),
})

interface AddProviderProps {
  readonly connections: readonly Connection[]
  readonly close: () => void
  readonly done: () => void
}

function AddProvider({ connections, close, done }: AddProviderProps) {
  return (
    <Dialog title="Add a provider" close={close}>
      <Form
        submit="Add"
        cancel={close}
        // The fields have the names of the API; what is empty is not told.
        send={(fields) =>
          call('POST', PROVIDERS, {
            body: Object.fromEntries(
              [...fields.keys()].map((name) => [name, textIn(fields, name) || undefined]),
            ),
          })
        }
        done={done}
      >
        <div class="fields">
          <Field label="Name" name="name" maxLength={256} autofocus />
          <Field
            label="Issuer URL"
            name="issuer"
            type="url"
            maxLength={2048}
            hint="Equal to the claim iss of its tokens, character by character."
          />
          <Field label="Client id" name="client_id" maxLength={512} />
          <Field
            label="Client secret"
            name="client_secret"
            type="password"
            maxLength={1024}
            isOptional
            hint="Kept sealed, and never shown."
          />
          <Select
            label="Members"
            name="connection_id"
            options={[...connections.map(({ id, name }) => [id, name] as const), ['', 'added by hand']]}
          />
          <Field
            label="Subject"
            name="subject_claim"
            maxLength={128}
            isOptional
            hint="The claim that is the subject of a member: sub, or oid of Entra."
          />
        </div>
      </Form>
    </Dialog>
  )
}
