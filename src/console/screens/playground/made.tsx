/** A file that an answer has made: it lies in the workspace that the call ran in, which its row tells. */
import { ROOT } from '../../api/call.ts'
import { useResource } from '../../api/resource.ts'
import { Icon } from '../../kit/icon.tsx'
import { filePath, type StoredFile } from '../files/wire.ts'
import { type Generation, generationPath } from '../generations/wire.ts'

interface MadeProps {
  readonly id: string
  /** The generation whose answer has named it. */
  readonly by: string
}

/** Its id alone where the session may not read it. */
export function Made({ id, by }: MadeProps) {
  const row = useResource<{ data: Generation }>(generationPath(by)).data?.data
  const scope = { workspace_id: row?.workspace_id ?? '', provider: '' }
  const file = useResource<StoredFile>(row ? filePath(id, scope) : null).data
  const content = ROOT + filePath(id, scope, '/content')
  return (
    <p class="attached small">
      <Icon name="file" />{' '}
      {file ? (
        <a href={content} download={file.filename}>
          {file.filename}
        </a>
      ) : (
        id
      )}
      {file?.mime_type.startsWith('audio/') && (
        // biome-ignore lint/a11y/useMediaCaption: what models say of it stands above
        <audio controls src={content} />
      )}
    </p>
  )
}
