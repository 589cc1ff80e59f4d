from openpyxl import Workbook

workbook = Workbook()
