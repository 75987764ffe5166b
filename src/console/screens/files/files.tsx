/** Files: of a workspace, here or in its account with a provider; uploaded, downloaded, deleted. */
import { useMemo, useState } from 'preact/hooks'
import { call, ROOT } from '../../api/call.ts'
import { usePages } from '../../api/resource.ts'
import { Confirm } from '../../kit/dialogs.tsx'
import { Select } from '../../kit/fields.tsx'
import { Empty } from '../../kit/note.tsx'
import { Page } from '../../kit/page.tsx'
import { type Column, PagedTable } from '../../kit/table.tsx'
import { Bytes, Id, Time } from '../../kit/values.tsx'
import { place, setQuery } from '../../shell/location.ts'
import { session } from '../../shell/session.ts'
import { tell } from '../../shell/toasts.tsx'
import { apiUrl } from '../command.ts'
import { Uploads } from './uploads.tsx'
import { filePath, filesPath, type Scope, type StoredFile } from './wire.ts'

const PLACES = [
  ['', 'This server'],
  ['openai', 'An account with OpenAI'],
  ['anthropic', 'An account with Anthropic'],
] as const

export function Screen() {
  const { query } = place.value
  const workspace_id = query.get('workspace') ?? ''
  const provider = query.get('at') ?? ''
  const scope = useMemo(() => ({ workspace_id, provider }), [workspace_id, provider])
  const pages = usePages<StoredFile>(filesPath(scope))
  const [leaving, setLeaving] = useState<StoredFile | null>(null)
  const columns = useMemo(() => columnsOf(scope, setLeaving), [scope])
  const workspaces = session.value!.workspaces.map(({ id, name }) => [id, name] as const)
  return (
    <Page
      title="Files"
      lead="Files that requests may name by their id, each in one workspace. Its kind is told by its content."
    >
      <div class="filters">
        <Select
          label="Workspace"
          value={workspace_id}
          options={[['', 'The default one'], ...workspaces]}
          onChange={(event) => setQuery({ workspace: event.currentTarget.value })}
        />
        <Select
          label="They lie with"
          value={provider}
          options={PLACES}
          onChange={(event) => setQuery({ at: event.currentTarget.value })}
        />
      </div>
      <Uploads key={`${workspace_id} ${provider}`} scope={scope} arrived={pages.reload} />
      <PagedTable
        caption="Files"
        columns={columns}
        pages={pages}
        keyOf={({ id }) => id}
        empty={
          <Empty
            title="No files yet"
            command={`curl '${apiUrl(filesPath(scope).slice(3))}' -H "Authorization: Bearer $SLUICE_MANAGEMENT_KEY" -F file=@notes.txt`}
          >
            What is uploaded, and what models make, appears here.
          </Empty>
        }
      />
      {leaving && (
        <Confirm
          title={`Delete ${leaving.filename}?`}
          submit="Delete"
          send={() => call('DELETE', filePath(leaving.id, scope))}
          close={() => setLeaving(null)}
          done={() => {
            tell(`${leaving.filename} is deleted`)
            setLeaving(null)
            pages.reload()
          }}
        >
          It is gone for good, and requests that name it are refused.
        </Confirm>
      )}
    </Page>
  )
}

const columnsOf = (scope: Scope, leave: (file: StoredFile) => void): readonly Column<StoredFile>[] => [
  {
    title: 'File',
    cell: ({ id, filename, mime_type, downloadable }) => (
      <span class="two-lines file-name">
        {downloadable ? (
          <a href={ROOT + filePath(id, scope, '/content')} download={filename}>
            {filename}
          </a>
        ) : (
          <span>{filename}</span>
        )}
        <span class="soft small">{mime_type}</span>
      </span>
    ),
  },
  { title: 'Id', from: 'medium', cell: ({ id }) => <Id id={id} /> },
  { title: 'Size', align: 'end', cell: ({ size_bytes }) => <Bytes value={size_bytes} /> },
  { title: 'Created', from: 'medium', cell: ({ created_at }) => <Time at={created_at} /> },
  {
    title: 'Action',
    align: 'end',
    cell: (file) => (
      <button type="button" class="plain" aria-label={`Delete ${file.filename}`} onClick={() => leave(file)}>
        Delete
      </button>
    ),
  },
]
