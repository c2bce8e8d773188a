import type { VNode } from 'preact'
import { t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import { Writing } from './commit-fields.tsx'
import { FileEditor, NO_FILE } from './file-editor.tsx'

/** The form for a new file in a folder of a branch. */
export function NewFilePage({ owner, repo, rest }: PageProps): VNode {
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Code" title={t('New file')}>
      {(repository) => (
        <Writing repository={repository} rest={rest}>
          {(place) => {
            const folder = place.path.replace(/\/*$/, '')
            return (
              <FileEditor
                key={`${place.branch} ${folder}`}
                place={place}
                path={folder === '' ? '' : `${folder}/`}
                file={NO_FILE}
              />
            )
          }}
        </Writing>
      )}
    </RepositoryFrame>
  )
}
