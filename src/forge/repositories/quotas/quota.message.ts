import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  type QuotaGroup,
  QuotaGroupSchema,
  QuotaInfoSchema,
  type QuotaRule,
  QuotaRuleSchema,
} from '#gen/branchline/v1/quota_pb.ts'
import {
  type AdminListUsageResponseSchema,
  type QuotaAttachment,
  QuotaAttachmentSchema,
} from '#gen/branchline/v1/quota_service_pb.ts'
import type { App } from '../../app.ts'
import { encodePath, gitUrls } from '../lifecycle/repository.message.ts'
import type { listFiles, listUsage, QuotaView } from './quota-reports.ts'
import type { QuotaGroup as Group, QuotaRule as Rule } from './subjects.ts'

/** Returns a rule. Administrators see its name. */
export function quotaRuleMessage({ name, limit, subjects }: Rule, showsName = true): QuotaRule {
  return create(QuotaRuleSchema, {
    ...(showsName && { name }),
    limit: BigInt(limit),
    subjects: [...subjects],
  })
}

/** Returns a group. Administrators see the names. */
export function quotaGroupMessage({ name, rules }: Group, showsNames = true): QuotaGroup {
  return create(QuotaGroupSchema, {
    ...(showsNames && { name }),
    rules: rules.map((rule) => quotaRuleMessage(rule, showsNames)),
  })
}

/** Returns what an owner has stored, and the limits. Administrators see the names of groups. */
export function quotaInfoMessage({ used, groups, limits }: QuotaView, showsNames: boolean) {
  const { public: open, private: hidden, lfs, issues, releases } = used
  const attachments = { issues: BigInt(issues), releases: BigInt(releases) }
  return create(QuotaInfoSchema, {
    used: {
      size: {
        repos: { public: BigInt(open), private: BigInt(hidden) },
        git: { lfs: BigInt(lfs) },
        assets: { attachments, artifacts: 0n, packages: { all: 0n } },
      },
    },
    groups: groups.map((group) => quotaGroupMessage(group, showsNames)),
    limits: limits.map(({ subjects, limit, used: bytes }) => ({
      subjects: [...subjects],
      limit: BigInt(limit),
      used: BigInt(bytes),
    })),
  })
}

/** Returns an uploaded file of an owner. */
export function quotaAttachmentMessage(
  app: App,
  owner: string,
  file: Awaited<ReturnType<typeof listFiles>>['files'][number],
): QuotaAttachment {
  const { name, bytes, id } = file
  const open = { owner: { name: owner }, repository: { name: file.repository } }
  const { api, html } = gitUrls(app, open)
  const place = placeOf(file)
  return create(QuotaAttachmentSchema, {
    name,
    size: BigInt(bytes),
    ...(place && { apiUrl: api(`${place.api}/assets/${id}`) }),
    containedIn: { apiUrl: api(place?.api ?? ''), htmlUrl: html(place?.html ?? '') },
  })
}

/** Returns the paths of what has a file; undefined for an upload that nothing has taken. */
function placeOf(file: Awaited<ReturnType<typeof listFiles>>['files'][number]) {
  const { release_id, tag_name, issue_number, is_pull, comment_id } = file
  if (release_id !== null)
    return { api: `/releases/${release_id}`, html: `/releases/tag/${encodePath(tag_name ?? '')}` }
  if (issue_number === null) return undefined
  const page = `/${is_pull === 1 ? 'pulls' : 'issues'}/${issue_number}`
  if (comment_id === null) return { api: `/issues/${issue_number}`, html: page }
  return { api: `/issues/comments/${comment_id}`, html: `${page}#issuecomment-${comment_id}` }
}

/** Returns what owners and repositories have stored. */
export function usageMessage({
  owners,
  repositories,
}: Awaited<ReturnType<typeof listUsage>>): MessageInitShape<typeof AdminListUsageResponseSchema> {
  const messageOf = ({ id, name, git, lfs, assets, total }: (typeof owners)[number]) => ({
    id: BigInt(id),
    name,
    git: BigInt(git),
    lfs: BigInt(lfs),
    assets: BigInt(assets),
    total: BigInt(total),
  })
  return { owners: owners.map(messageOf), repositories: repositories.map(messageOf) }
}
