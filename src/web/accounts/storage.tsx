import type { VNode } from 'preact'
import type { QuotaInfo, QuotaLimit } from '#gen/branchline/v1/quota_pb.ts'
import type { QuotaAttachment } from '#gen/branchline/v1/quota_service_pb.ts'
import { sizeText } from '../components/formats.tsx'
import { type Loaded, Show } from '../components/load.tsx'
import { Pager, Scrolling } from '../components/page.tsx'
import { t } from '../language/texts.tsx'

/** The subjects of quotas in words. */
const SUBJECTS: Readonly<Record<string, string>> = {
  'size:all': t('everything'),
  'size:repos:all': t('repositories'),
  'size:repos:public': t('public repositories'),
  'size:repos:private': t('private repositories'),
  'size:git:all': t('repositories and Git LFS'),
  'size:git:lfs': t('Git LFS'),
  'size:assets:all': t('all files'),
  'size:assets:attachments:all': t('files of releases and issues'),
  'size:assets:attachments:issues': t('files of issues'),
  'size:assets:attachments:releases': t('files of releases'),
  'size:assets:artifacts': t('artifacts'),
  'size:assets:packages:all': t('packages'),
  'size:assets:wiki': t('files of wikis'),
  none: t('nothing'),
}

export const QUOTA_SUBJECTS = Object.keys(SUBJECTS)

/** Returns subjects of quotas in words. */
export function subjectsText(subjects: readonly string[]): string {
  return subjects.map((subject) => SUBJECTS[subject] ?? subject).join(', ')
}

/** Returns a limit in words. */
export function limitText(limit: bigint): string {
  return limit < 0n ? t('no limit') : sizeText(limit)
}

/** A page of the uploaded files of an owner. */
interface FilePage {
  readonly attachments: readonly QuotaAttachment[]
  readonly total: bigint
  readonly limit: number
}

/** What an owner has stored, the limits, and the uploaded files. */
export function Storage(props: {
  quota: Loaded<QuotaInfo>
  files: Loaded<FilePage>
  page: number
}): VNode {
  const { quota, files, page } = props
  return (
    <>
      <Show of={quota}>
        {(info) => (
          <>
            <Used info={info} />
            <Limits limits={info.limits} />
          </>
        )}
      </Show>
      <section aria-labelledby="files">
        <h3 id="files">{t('Uploaded files')}</h3>
        <Show of={files}>
          {({ attachments, total, limit }) =>
            attachments.length === 0 ? (
              <p class="empty">{t('No files.')}</p>
            ) : (
              <>
                <ul class="list">
                  {attachments.map(({ name, size, containedIn }) => (
                    <li key={`${containedIn?.apiUrl} ${name}`}>
                      <a href={containedIn?.htmlUrl ?? ''}>{name}</a> ({sizeText(size)})
                    </li>
                  ))}
                </ul>
                <Pager page={page} limit={limit} total={total} />
              </>
            )
          }
        </Show>
      </section>
    </>
  )
}

function Used({ info }: { info: QuotaInfo }): VNode {
  const { repos, git, assets } = info.used?.size ?? {}
  const kinds = [
    [t('Public repositories'), repos?.public],
    [t('Private repositories'), repos?.private],
    [t('Git LFS'), git?.lfs],
    [t('Files of releases'), assets?.attachments?.releases],
    [t('Files of issues and pull requests'), assets?.attachments?.issues],
  ] as const
  return (
    <dl class="facts-of-server">
      {kinds.map(([name, bytes = 0n]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{sizeText(bytes)}</dd>
        </div>
      ))}
    </dl>
  )
}

function Limits({ limits }: { limits: readonly QuotaLimit[] }): VNode {
  return (
    <section aria-labelledby="limits">
      <h3 id="limits">{t('Limits')}</h3>
      {limits.length === 0 ? (
        <p class="empty">{t('No limits.')}</p>
      ) : (
        <ul class="list">
          {limits.map(({ subjects, limit, used }) => {
            const text = t('{used} of {limit} for {subjects}', {
              used: sizeText(used),
              limit: sizeText(limit),
              subjects: subjectsText(subjects),
            })
            return (
              <li key={subjects.join()}>
                <meter
                  min={0}
                  max={Math.max(Number(limit), 1)}
                  high={Number(limit) * 0.8}
                  optimum={0}
                  value={Number(used)}
                  aria-label={text}
                />{' '}
                {text}
              </li>
            )
          })}
        </ul>
      )}
    </section>
  )
}

/** What an owner or a repository has stored. */
interface UsageLine {
  readonly id: bigint
  readonly name: string
  readonly git: bigint
  readonly lfs: bigint
  readonly assets: bigint
  readonly total: bigint
}

/** A table of what owners or repositories have stored. */
export function UsageTable({ of, lines }: { of: string; lines: readonly UsageLine[] }): VNode {
  if (lines.length === 0) return <p class="empty">{t('Nothing is stored.')}</p>
  return (
    <Scrolling label={t('Table: {what}', { what: of })}>
      <table class="figures">
        <thead>
          <tr>
            <th scope="col">{of}</th>
            <th scope="col">{t('Git')}</th>
            <th scope="col">{t('Git LFS')}</th>
            <th scope="col">{t('Files')}</th>
            <th scope="col">{t('All @total')}</th>
          </tr>
        </thead>
        <tbody>
          {lines.map(({ id, name, git, lfs, assets, total }) => (
            <tr key={id}>
              <td>
                <a href={`/${name}`}>{name}</a>
              </td>
              <td>{sizeText(git)}</td>
              <td>{sizeText(lfs)}</td>
              <td>{sizeText(assets)}</td>
              <td>{sizeText(total)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  )
}
