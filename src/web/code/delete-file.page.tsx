import type { VNode } from 'preact'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { codeHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { ActionForm } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { T, t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import {
  CommitFields,
  commitOf,
  goToCommitted,
  type WritePlace,
  Writing,
} from './commit-fields.tsx'

/** The form that deletes a file of a branch. */
export function DeleteFilePage({ owner, repo, rest }: PageProps): VNode {
  const title = t('Delete {file}', { file: rest.slice(1).join('/') })
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Code" title={title}>
      {(repository) => (
        <Writing repository={repository} rest={rest}>
          {(place) => <Deletion key={`${place.branch} ${place.path}`} place={place} />}
        </Writing>
      )}
    </RepositoryFrame>
  )
}

function Deletion({ place }: { place: WritePlace }): VNode {
  const { of } = useApi()
  const { name, branch, path } = place
  const file = useLoad(
    (signal) => of(ContentService).getContents({ ...name, path, ref: branch }, { signal }),
    [],
  )
  return (
    <Show of={file} isPage>
      {({ entry }) =>
        entry?.type === 'file' || entry?.type === 'symlink' ? (
          <ActionForm
            label={t('Delete the file')}
            submit={t('Delete the file')}
            act={async (form) => {
              const commit = commitOf(form, place)
              await of(ContentService).deleteFile({ ...commit, path, sha: entry.sha })
              goToCommitted(place, commit.newBranch, '')
            }}
          >
            <p>
              <T
                text="The commit deletes {file}. The history keeps the file."
                file={<a href={codeHref(name, { kind: 'branch', name: branch }, path)}>{path}</a>}
              />
            </p>
            <CommitFields place={place} proposed={`Delete ${path}`} />
          </ActionForm>
        ) : (
          <p class="note">{t('Only files can be deleted here.')}</p>
        )
      }
    </Show>
  )
}
