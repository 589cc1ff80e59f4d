import csv
import openpyxl
