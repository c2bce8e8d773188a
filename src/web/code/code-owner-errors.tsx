import type { VNode } from 'preact'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { codeHref, type RefName } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../components/load.tsx'
import { t } from '../language/texts.tsx'

interface ErrorsProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly at: RefName
  /** The files that the page is about. One of the other files may apply instead. */
  readonly paths: readonly string[]
}

/** Says which lines and names of a CODEOWNERS file have no effect. For users who may write the code. */
export function CodeOwnerErrors({ name, at, paths }: ErrorsProps): VNode {
  const { of } = useApi()
  const found = useLoad(
    async (signal) => {
      const { owner, repo } = name
      const request = { owner, repo, ref: at.name }
      const { errors } = await of(ReviewService).listCodeOwnerErrors(request, { signal })
      return errors.filter(({ path }) => paths.includes(path))
    },
    [at.name],
  )
  return (
    <Show of={found}>
      {(errors) =>
        errors.length > 0 && (
          <section class="note problem" aria-label={t('Code owners')}>
            <p>
              <strong>
                {t('Some lines of {file} have no effect.', { file: errors[0]?.path ?? '' })}
              </strong>
            </p>
            <ul>
              {errors.map(({ path, line, column, message }) => (
                <li key={`${line}:${column}`}>
                  <a href={`${codeHref(name, at, path)}#L${line}`}>
                    {t('Line {line}', { line: String(line) })}
                  </a>
                  : {message}
                </li>
              ))}
            </ul>
          </section>
        )
      }
    </Show>
  )
}
