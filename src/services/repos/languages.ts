import type { ServiceImpl } from '@connectrpc/connect'
import { LanguageService } from '#gen/branchline/v1/language_service_pb.ts'
import type { App } from '../../domain/app.ts'
import { getRepositoryLanguages } from '../../domain/repos/reading/languages.ts'
import { callerOf } from '../../forge/core/wire/call.ts'
import { defineService } from '../../forge/core/wire/define-service.ts'

/** Implements LanguageService. */
function languageService(app: App): ServiceImpl<typeof LanguageService> {
  return {
    async getRepositoryLanguages({ owner, repo }, context) {
      const found = await getRepositoryLanguages(app, callerOf(context), { owner, repo })
      const sizes = [...found].map(([language, bytes]) => [language, BigInt(bytes)])
      return { languages: Object.fromEntries(sizes) }
    },
  }
}

export const languages = defineService(LanguageService, languageService)
