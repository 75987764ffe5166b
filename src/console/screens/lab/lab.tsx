/** Where the lab listens, and what the drill does: the one judges load tools, the other the gateway. */
import { useResource } from '../../api/resource.ts'
import { Code } from '../../kit/code.tsx'
import { Empty, Note } from '../../kit/note.tsx'
import { Facts, Page, ProblemNote, Section } from '../../kit/page.tsx'
import { SETTINGS, type Setting } from '../settings/wire.ts'

export function Screen() {
  const { data, problem, reload } = useResource<{ data: readonly Setting[] }>(SETTINGS)
  const settings = new Map(data?.data.map(({ variable, value }) => [variable, value]))
  return (
    <Page
      title="Lab and drill"
      lead="The lab records what really arrived, and tells whether a load tool can be believed. The drill lets a provider fail in every way, and tells what the gateway makes of it."
    >
      <ProblemNote problem={problem} retry={reload} />
      {data && (
        <>
          <Section title="Lab">
            <Lab
              listensAt={String(settings.get('SLUICE_LAB'))}
              makesFaults={settings.get('SLUICE_LAB_FAULTS') === true}
            />
          </Section>
          <Section
            title="Drill"
            lead="It starts a faulty provider and a gateway of its own, plays sixteen scenarios whole and streamed in half a minute, calls nobody and spends nothing."
          >
            <Code text="npx sluice drill" label="Copy the command" />
            <p class="soft">With PostgreSQL it drills three machines as well, in three minutes:</p>
            <Code text="npx sluice drill --fleet" label="Copy the command" />
          </Section>
        </>
      )}
    </Page>
  )
}

function Lab({ listensAt, makesFaults }: { readonly listensAt: string; readonly makesFaults: boolean }) {
  if (listensAt === 'off')
    return (
      <Empty title="This server runs without the lab" command="npx sluice serve --lab">
        It has a listener of its own without authentication, so it is off unless somebody asks for it.
      </Empty>
    )
  const { hostname, port } = new URL(`http://${listensAt}`)
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
  const isEverywhere = hostname === '0.0.0.0' || hostname === '[::]'
  const live = `http://${isEverywhere ? location.hostname : hostname}:${port}/lab`
  return (
    <>
      <Facts
        rows={{
          'Listens at': <code>{listensAt}</code>,
          // Port 0 is any that was free, which the first lines of the server tell.
          'Live page': port === '0' ? null : <a href={live}>{live}</a>,
          'Faults on purpose': makesFaults ? 'allowed' : 'not allowed',
        }}
      />
      {isLoopback && (
        <Note is="attention">That is an address of the server's own machine: open it there.</Note>
      )}
    </>
  )
}
