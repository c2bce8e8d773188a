import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { contentChangeMethods } from './content-changes.service.ts'
import { contentMethods } from './contents.service.ts'

export const content = defineService(ContentService, (app) => ({
  ...contentMethods(app),
  ...contentChangeMethods(app),
}))
