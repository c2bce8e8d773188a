import type { VNode } from 'preact'
import { codeHref, encodePath, repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../components/load.tsx'
import { NotFound } from '../components/page.tsx'
import { T, t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import { type WritePlace, Writing } from './commit-fields.tsx'
import { FileEditor, loadEdited } from './file-editor.tsx'

/** The editor of a file on a branch. */
export function EditFilePage({ owner, repo, rest }: PageProps): VNode {
  const title = t('Edit {file}', { file: rest.slice(1).join('/') })
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Code" title={title}>
      {(repository) => (
        <Writing repository={repository} rest={rest}>
          {(place) => <Edit key={`${place.branch} ${place.path}`} place={place} />}
        </Writing>
      )}
    </RepositoryFrame>
  )
}

function Edit({ place }: { place: WritePlace }): VNode {
  const api = useApi()
  const { name, branch, path } = place
  // Null for what a form cannot have, since undefined means that the file has not come yet.
  const file = useLoad(async (signal) => (await loadEdited(api, place, path, signal)) ?? null, [])
  const folder = path.split('/').slice(0, -1).join('/')
  const upload = `${repositoryHref(name)}/_upload/${encodeURIComponent(branch)}/${encodePath(folder)}`
  return (
    <Show of={file} isPage>
      {(value) => {
        if (value === null)
          return (
            <p class="note">
              <T
                text="{file} is no text in UTF-8, or has more than a mebibyte. {upload}, or change it in a clone."
                file={<a href={codeHref(name, { kind: 'branch', name: branch }, path)}>{path}</a>}
                upload={<a href={upload}>{t('Upload a new version')}</a>}
              />
            </p>
          )
        return value.sha === '' ? (
          <NotFound />
        ) : (
          <FileEditor place={place} path={path} file={value} />
        )
      }}
    </Show>
  )
}
